// SPDX-License-Identifier: Apache-2.0
// The client of a haptic device that is far away from the simulation: sends its pose a thousand times a second, takes
// the newest force, and lets the guard decide what the motors get. Here the device is a simulated hand that presses
// down; put your own read and write in the place of td_hand_measure() and td_hand_move().
//
//     cc -O2 -Isrc -o haptic_client examples/haptic_client.c src/haptic/packet.c src/haptic/guard.c src/haptic/hand.c
//     -lm tendril haptic scenes/haptic/cube.yaml --device udp:9999 --time 3 &
//     ./haptic_client 127.0.0.1 9999 2
#include "haptic/guard.h"
#include "haptic/hand.h"
#include "haptic/packet.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PERIOD 1e-3
#define DEEP   8e-3 // [m] how far the hand wants to press

int main(int argc, char **argv)
{
    if (argc != 4)
    {
        fprintf(stderr, "usage: haptic_client ADDRESS PORT SECONDS\n");
        return 2;
    }
    struct sockaddr_in host = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    int link = socket(AF_INET, SOCK_DGRAM, 0);
    if (link < 0 || inet_pton(AF_INET, argv[1], &host.sin_addr) != 1)
    {
        fprintf(stderr, "haptic_client: no way to %s\n", argv[1]);
        return 3;
    }
    tdHand hand;
    tdHandSettings device = td_default_hand();
    tdGuard guard;
    tdGuardSettings limits = td_default_guard(PERIOD, 3);
    const double origin[3] = {0, 0, 0};
    double asked[3] = {0, 0, 0}, largest = 0;
    uint32_t sequence = 0, newest = 0;
    bool any = false;
    td_hand_start(&hand, &device, origin);
    td_guard_start(&guard, &limits);
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long k = 0, n = (long)(atof(argv[3]) / PERIOD); k < n; k++)
    {
        // where the device is
        tdPosePacket pose = {.sequence = sequence++, .time = (double)k * PERIOD, .rotation = {1, 0, 0, 0}};
        uint8_t data[256];
        td_hand_measure(&hand, pose.position);
        td_packet_write_pose(&pose, data);
        sendto(link, data, TD_PACKET_POSE, MSG_DONTWAIT, (const struct sockaddr *)&host, sizeof host);
        // the newest force that has come
        bool heard = false;
        ssize_t size;
        while ((size = recv(link, data, sizeof data, MSG_DONTWAIT)) >= 0)
        {
            tdForcePacket force;
            if (td_packet_read_force(data, (size_t)size, &force) != NULL ||
                (any && !td_packet_is_newer(force.sequence, newest)))
                continue;
            newest = force.sequence;
            any = heard = true;
            memcpy(asked, force.force, sizeof asked);
        }
        // what the motors get
        double apply[3] = {asked[0], asked[1], asked[2]}, torque[3] = {0, 0, 0};
        td_guard(&guard, pose.position, heard, apply, torque);
        largest = fmax(largest, fabs(apply[2]));
        const double goal[3] = {0, 0, -DEEP * (double)k / (double)n};
        td_hand_move(&hand, apply, goal);
        next.tv_nsec += (long)(1e9 * PERIOD);
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    close(link);
    printf("largest force %.3f N; the hand was given %.3f mJ at most; %s\n", largest, 1e3 * hand.most,
           any ? "forces came" : "no force came");
    return any ? 0 : 4;
}
